"""Laws of privacy losses: what items become before they are composed."""

"""What a release does where the number of records is private: rules that see a guess of it."""

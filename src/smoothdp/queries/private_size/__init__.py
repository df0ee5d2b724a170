"""Windows of order statistics where the number of records is private: add or remove one."""

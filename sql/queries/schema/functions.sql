-- Every text of a file of functions that this database ever had.
SELECT name, checksum FROM schema_functions

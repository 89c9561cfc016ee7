module example.com/json-field

go 1.24

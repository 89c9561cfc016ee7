module github.com/weirmq/weir/sdk/guest/go

go 1.24

package fastjson

// Raw is a value that is passed on as it is written, in whatever dialect: Unmarshal copies its bytes without a change,
// Append writes them. A broker that relays a client's answer must not rewrite keys that are objects.
type Raw []byte

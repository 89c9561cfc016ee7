// Package fastjson reads and writes JSON in the dialect of Alibaba's fastjson 1.2, in which RocketMQ keeps its metadata files
// and sends the bodies of its requests.
//
// The dialect is not JSON. Java writes maps whose keys aren't strings as {0:"a:1"} and
// {{"brokerName":"b","queueId":0,"topic":"t"}:12}; clients in other languages quote such keys, or send numbers as
// strings and enums as ordinals, and Java reads it all. So does Unmarshal. Append writes what Java writes: compact, members in
// alphabetical order, object keys bare, nothing escaped for HTML. AppendFile writes the form of the metadata files.
// AppendStrict turns the dialect into strict JSON for other readers.
//
// Input is bounded: MaxDepth levels, MaxSize bytes. Errors say at which byte. Both directions use reflection and allocate; they are for
// bodies and files, not for the paths of single messages. The package keeps no state.
package fastjson

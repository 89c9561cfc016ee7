// Package wire speaks RocketMQ's remoting protocol in bytes: frames, both header encodings, the ext fields of every
// request and the JSON bodies in the dialect that Java's fastjson, the Go and the C++ client read and write.
//
// It is the codec that the broker's transport and clients share. It opens no sockets, starts nothing, keeps no state and
// logs nothing. Its nouns:
//
//   - A frame is a length, a header and a body. NextFrame finds it in a read buffer, Header.Decode reads it,
//     AppendFrame writes it.
//   - Header is the part that every request and reply has, with its ext fields as views into the frame.
//   - A typed header is what one kind of request puts into the ext fields. SendHeader, PullHeader and their replies have
//     Decode and Encode; all others go through Header.Read and Header.Write.
//   - A body (Heartbeat, TopicRoute, …) is a struct for AppendBody and ParseBody.
//
// Costs: splitting, decoding and encoding frames, and the typed headers of sending and pulling, don't allocate once
// their buffers have grown. Everything a peer controls is bounded: frames to MaxFrameSize, headers to MaxHeaderSize
// and MaxExtFields, nesting of JSON to 64 levels.
//
// What Java takes is taken: unknown keys, any order, numbers for strings, single quotes and the like. What is written is what the
// strictest known client can read. Source: Apache RocketMQ 4.9.7.
package wire

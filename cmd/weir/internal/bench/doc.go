// Package bench generates load and measures what comes back. It is the engine of `weir bench`.
//
// A generator that is slower than what it measures measures itself, so frames are made in advance and patched in place,
// written in batches, and replies are read only as far as needed. A lane is one connection with its share of the load;
// its replies drive its next requests on the connection's reading goroutine.
//
// In a closed loop a fixed number of requests is in flight: latency and throughput depend on each other, and a stall
// stops the load. In an open loop requests have a time at which they are due, and latency counts from that time even
// when the request could only be sent later, so that a stall shows in the latencies of everything it delayed.
package bench

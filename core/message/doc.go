// Package message holds the nouns of the broker's data model and the byte formats in which they travel and rest:
// offsets and positions, RocketMQ's record layout, property strings, tag hashes, message ids, topic and group names,
// and the response codes that every transport maps to its own.
//
// It is floor 0: it imports only the standard library, keeps no state, starts nothing and logs nothing. Functions that
// read bytes return views of the caller's slice unless they say that they copy.
//
// Source of every format: Apache RocketMQ 4.9.7.
package message

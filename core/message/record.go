package message

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
)

// The record: how a message rests in the commit log and travels in pull replies. All numbers are signed big-endian.
// The layout is RocketMQ's (MessageDecoder and CommitLog of 4.9.7) and must not change.
//
//	 0    4        8        12       16    20           28              36       40
//	+----+--------+--------+--------+-----+------------+---------------+--------+---------------+
//	|size| magic  |body crc|queue id|flag |queue offset|physical offset|sys flag|born timestamp |
//	| i32| i32    | i32    | i32    | i32 | i64        | i64           | i32    | i64           |
//	+----+--------+--------+--------+-----+------------+---------------+--------+---------------+
//	 48          56 or 68         64…88        +8 or +20        +4                    +8
//	+-----------+----------------+------------+----------------+---------------------+
//	| born host |store timestamp | store host |reconsume times | prepared trans. off.|
//	| 8 or 20   | i64            | 8 or 20    | i32            | i64                 |
//	+-----------+----------------+------------+----------------+---------------------+
//	+-----------------+------------------+---------------------------+
//	| body: i32 + n   | topic: i8 + n    | property string: i16 + n  |
//	+-----------------+------------------+---------------------------+
//
// A host takes 20 bytes instead of 8 when its sysFlag bit (0x10 born, 0x20 store) is set.
// A blank record closes a segment: size i32 (the bytes left in the segment), BlankMagic, then bytes of any value.
const (
	// Magic marks a message record (version 1; version 2 exists in 5.x only and is not read).
	Magic int32 = -626843481 // 0xDAA320A7
	// BlankMagic marks the unused end of a segment. It never goes to a client.
	BlankMagic int32 = -875286124 // 0xCBD43194

	magicBits      uint32 = 0xDAA320A7
	blankMagicBits uint32 = 0xCBD43194

	atMagic          = 4
	atCRC            = 8
	atQueueID        = 12
	atFlag           = 16
	atQueueOffset    = 20
	atPhysicalOffset = 28
	atSysFlag        = 36
	atBornTimestamp  = 40
	atBornHost       = 48
	// fixedAfterHosts are reconsume times, prepared transaction offset and body length.
	fixedAfterHosts = 4 + 8 + 4
)

// Record is a view of one whole, structurally sound record, as ParseRecord and ViewRecord return it. It borrows the
// bytes that were parsed. Accessors don't check anything again and don't allocate; on other bytes they may panic.
type Record []byte

func (r Record) i32(at int) int32 { return int32(binary.BigEndian.Uint32(r[at:])) }
func (r Record) i64(at int) int64 { return int64(binary.BigEndian.Uint64(r[at:])) }

func (r Record) atStoreTimestamp() int {
	return atBornHost + hostSize(r.SysFlag()&FlagBornHostV6 != 0)
}
func (r Record) atStoreHost() int { return r.atStoreTimestamp() + 8 }
func (r Record) atReconsumeTimes() int {
	return r.atStoreHost() + hostSize(r.SysFlag()&FlagStoreHostV6 != 0)
}
func (r Record) atBody() int { return r.atReconsumeTimes() + 12 }
func (r Record) atTopic() int {
	at := r.atBody()
	return at + 4 + max(0, int(r.i32(at)))
}

// Size returns the record's length in bytes, TOTALSIZE.
func (r Record) Size() int { return len(r) }

// CRC returns the stored checksum of the body.
func (r Record) CRC() int32 { return r.i32(atCRC) }

// QueueID returns the queue within the topic.
func (r Record) QueueID() QueueID { return QueueID(r.i32(atQueueID)) }

// Flag returns the producer's own flag, which nobody interprets.
func (r Record) Flag() int32 { return r.i32(atFlag) }

// QueueOffset returns the message's place in its queue; 0 for prepared and rolled back transaction records.
func (r Record) QueueOffset() Offset { return Offset(r.i64(atQueueOffset)) }

// Position returns the record's own place in the commit log.
func (r Record) Position() Position { return Position(r.i64(atPhysicalOffset)) }

// SysFlag returns the Flag… bits.
func (r Record) SysFlag() int32 { return r.i32(atSysFlag) }

// BornTimestamp returns when the producer made the message, in ms since 1970.
func (r Record) BornTimestamp() int64 { return r.i64(atBornTimestamp) }

// BornHost returns the producer's address as the broker saw it.
func (r Record) BornHost() netip.AddrPort { return readHost(r[atBornHost:r.atStoreTimestamp()]) }

// StoreTimestamp returns when the broker stored the message, in ms since 1970.
func (r Record) StoreTimestamp() int64 { return r.i64(r.atStoreTimestamp()) }

// StoreHost returns the address under which clients reach the broker that stored the message.
func (r Record) StoreHost() netip.AddrPort { return readHost(r[r.atStoreHost():r.atReconsumeTimes()]) }

// ReconsumeTimes returns how often the message was delivered before without success.
func (r Record) ReconsumeTimes() int32 { return r.i32(r.atReconsumeTimes()) }

// PreparedPosition returns, for a committed transaction message, where its half message is; else 0.
func (r Record) PreparedPosition() Position { return Position(r.i64(r.atReconsumeTimes() + 4)) }

// Body returns the body as stored, compressed if FlagCompressed is set.
func (r Record) Body() []byte { return r[r.atBody()+4 : r.atTopic()] }

// Topic returns the topic's name.
func (r Record) Topic() []byte {
	at := r.atTopic()
	return r[at+1 : at+1+int(r[at])]
}

// Properties returns the property string.
func (r Record) Properties() Properties {
	at := r.atTopic()
	return Properties(r[at+1+int(r[at])+2:])
}

// CRCMatches says whether the body has the stored checksum. Like Java it accepts any checksum of an empty body.
func (r Record) CRCMatches() bool {
	b := r.Body()
	return len(b) == 0 || BodyCRC(b) == r.CRC()
}

// BodyCRC returns the checksum that a record keeps of its body: CRC-32 (IEEE) with the top bit cleared.
func BodyCRC(body []byte) int32 { return int32(crc32.ChecksumIEEE(body) & 0x7fffffff) }

//go:build linux

package filter

import (
	"math/rand/v2"
	"net/netip"
	"syscall"
	"testing"

	"github.com/weirmq/weir/core/message"
)

// BenchmarkLoadCold loads records that are far apart in 2 GiB of memory, as those of one queue in a backlog are: none is in the
// processor's caches.
func BenchmarkLoadCold(b *testing.B) {
	host := netip.MustParseAddrPort("127.0.0.1:10911")
	one, err := message.AppendRecord(nil, &message.Message{Topic: "orders", Body: make([]byte, 256), BornHost: host, StoreHost: host, Properties: message.Properties("region\x01r1\x02amount\x01500\x02customer\x01customer-77\x02UNIQ_KEY\x010A0B0C0D0E0F10111213141516171819\x02WAIT\x01true\x02TAGS\x01hot")})
	if err != nil {
		b.Fatal(err)
	}
	log := smallPages(b, 2<<30)
	var records [][]byte
	r := rand.New(rand.NewPCG(1, 2))
	for at := 0; at+len(one) <= len(log); at += len(one) + r.IntN(6000) {
		copy(log[at:], one)
		records = append(records, log[at:at+len(one)])
	}
	c := NewColumns(NewLayout([]Column{{"amount", Int64}, {"region", Text}}))
	b.ResetTimer()
	for n := 0; n < b.N; n += ColumnsMax {
		first := n % (len(records) - ColumnsMax)
		c.Load(records[first : first+ColumnsMax])
	}
}

// smallPages returns memory in small pages, as the log is mapped: the processor has to find out where each is.
func smallPages(b *testing.B, size int) []byte {
	const noHugePages = 15 // MADV_NOHUGEPAGE
	log, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err == nil {
		err = syscall.Madvise(log, noHugePages)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = syscall.Munmap(log) })
	return log
}

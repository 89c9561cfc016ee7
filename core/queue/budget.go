package queue

import "time"

// budget bounds the time that programs take from the dispatcher: to a share of all time, with room for a burst. The
// programs are asked cheapest first, so it is the dearest that find nothing left. Such a one rests for a while, longer each
// time: its cover then has few long gaps and not many short ones, and pulls judge what is in them.
//
// It belongs to the one that judges arrivals.
type budget struct {
	share  float64 // of one processor's time
	tokens float64 // ns
	last   time.Time
}

const (
	budgetBurst = 200 * time.Millisecond // of the share
	restMin     = time.Second
	restMax     = 16 * time.Second
)

// refill adds what has become due by now.
func (b *budget) refill(now time.Time) {
	most := b.share * float64(budgetBurst)
	if b.last.IsZero() {
		b.tokens = most
	} else if passed := now.Sub(b.last); passed > 0 {
		b.tokens = min(most, b.tokens+b.share*float64(passed))
	}
	b.last = now
}

// reserve says whether p may judge n messages now, and sets aside what that will take. If not, p rests.
func (b *budget) reserve(p *liveProgram, n int, now time.Time) (ns float64, ok bool) {
	if now.Before(p.rest) {
		return 0, false
	}
	if ns = p.cost * float64(n); b.tokens > 0 && b.tokens >= ns {
		b.tokens -= ns
		return ns, true
	}
	if now.Sub(p.rest) > p.pause { // it has held out since the last rest
		p.pause = 0
	}
	p.pause = min(max(2*p.pause, restMin), restMax)
	p.rest = now.Add(p.pause)
	p.cost /= 2 // it may have been measured wrong, and is measured again only when it is let in again
	return 0, false
}

// spent replaces what was reserved by what it took.
func (b *budget) spent(reserved float64, took time.Duration) { b.tokens += reserved - float64(took) }

// measured notes what p took for n messages. One measurement doesn't count much: the time may have been another thread's.
func (p *liveProgram) measured(n int, took time.Duration) {
	if n == 0 {
		return
	}
	each := float64(took) / float64(n)
	if p.cost == 0 {
		p.cost = each
		return
	}
	p.cost += (min(each, 4*p.cost) - p.cost) / 8
}

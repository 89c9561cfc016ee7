package verdict

import "sync"

// cache bounds the blocks in memory. A block that was used since the hand last came by stays for another round.
type cache struct {
	max int

	mu   sync.Mutex // guards all below
	ring []*block
	hand int
}

// add takes b in and returns the block that has to go for it, nil when there is room.
func (k *cache) add(b *block) *block {
	b.used.Store(true)
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.ring) < k.max {
		k.ring = append(k.ring, b)
		return nil
	}
	for range 2 * len(k.ring) {
		if !k.ring[k.hand].used.Swap(false) {
			break
		}
		k.hand = (k.hand + 1) % len(k.ring)
	}
	victim := k.ring[k.hand]
	k.ring[k.hand] = b
	k.hand = (k.hand + 1) % len(k.ring)
	return victim
}

// sweep drops the blocks of covers that have ended.
func (k *cache) sweep() {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept := k.ring[:0]
	for _, b := range k.ring {
		if !b.cover.dead.Load() && !b.gone.Load() {
			kept = append(kept, b)
		}
	}
	clear(k.ring[len(kept):])
	k.ring, k.hand = kept, 0
}

// all returns the blocks in memory.
func (k *cache) all() []*block {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]*block(nil), k.ring...)
}

func (k *cache) len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.ring)
}

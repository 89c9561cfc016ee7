package pending

// heap is a binary heap. Unlike container/heap's its values aren't boxed: pushing one allocates nothing.
type heap[T any] struct {
	items  []T
	before func(a, b *T) bool
}

func (h *heap[T]) push(v T) {
	h.items = append(h.items, v)
	for i := len(h.items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.before(&h.items[i], &h.items[parent]) {
			break
		}
		h.items[i], h.items[parent] = h.items[parent], h.items[i]
		i = parent
	}
}

// pop takes the first out.
func (h *heap[T]) pop() {
	last := len(h.items) - 1
	h.items[0] = h.items[last]
	var none T
	h.items[last] = none
	h.items = h.items[:last]
	h.fix()
}

// fix finds the place of the first when it has changed.
func (h *heap[T]) fix() {
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.items); child++ {
			if h.before(&h.items[child], &h.items[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		h.items[i], h.items[least] = h.items[least], h.items[i]
		i = least
	}
}

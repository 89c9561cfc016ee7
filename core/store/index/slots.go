package index

// slotPage is how many slots are kept in memory together.
const slotPage = 4096

// slotTable is the slots of the newest file, as far as they were needed. Those of an idle broker take no memory, and a start reads none.
type slotTable struct {
	layout Layout
	pages  [][]int32
	blank  bool // what isn't in memory is zero
	stale  bool // … and may be something else in the file
}

func newSlotTable(l Layout, blank bool) *slotTable {
	return &slotTable{layout: l, pages: make([][]int32, (l.Slots+slotPage-1)/slotPage), blank: blank}
}

// at returns the slot of a hash, which isn't negative.
func (t *slotTable) at(f *file, hash int32) (*int32, error) {
	n := hash % int32(t.layout.Slots)
	page := t.pages[n/slotPage]
	if page == nil {
		var err error
		if page, err = t.load(f, n/slotPage); err != nil {
			return nil, err
		}
	}
	return &page[n%slotPage], nil
}

// load brings a page into memory. Slots that name entries that aren't there are 0, as for RocketMQ.
func (t *slotTable) load(f *file, number int32) ([]int32, error) {
	page := make([]int32, t.pageLen(number))
	if !t.blank {
		b := make([]byte, slotSize*len(page))
		if _, err := f.f.ReadAt(b, t.layout.slotAt(number*slotPage)); err != nil {
			return nil, err
		}
		for i := range page {
			if n := int32(be.Uint32(b[slotSize*i:])); n > 0 && n < f.header.count {
				page[i] = n
			}
		}
	}
	t.pages[number] = page
	return page, nil
}

func (t *slotTable) pageLen(number int32) int {
	return min(slotPage, t.layout.Slots-int(number)*slotPage)
}

// write brings the slots into the file.
func (t *slotTable) write(f *file) error {
	var b []byte
	for i, page := range t.pages {
		if page == nil {
			if !t.stale {
				continue
			}
			page = make([]int32, t.pageLen(int32(i)))
		}
		b = b[:0]
		for _, n := range page {
			b = be.AppendUint32(b, uint32(n))
		}
		if _, err := f.f.WriteAt(b, t.layout.slotAt(int32(i)*slotPage)); err != nil {
			return err
		}
	}
	t.stale = false
	return nil
}

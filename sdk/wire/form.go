package wire

// Fields is a typed header: a struct that knows which ext fields it is made of. One description serves both directions.
// SendHeader and PullHeader, which come with every message, have hand-written methods instead.
type Fields interface{ fields(f *form) }

// Read fills x from h's ext fields. Texts are copied. A required field that is missing, or a number that isn't one, is a
// *message.Error with SystemError that names the field; unknown fields are ignored.
func (h *Header) Read(x Fields) error {
	f := form{h: h}
	x.fields(&f)
	return f.err
}

// Write adds x's fields to h's ext fields. Optional texts that are empty are left out.
func (h *Header) Write(x Fields) {
	x.fields(&form{h: h, write: true})
}

// form visits fields, reading or writing. After the first error it reads nothing more.
type form struct {
	h     *Header
	write bool
	err   error
}

func (f *form) keep(err error) {
	if f.err == nil {
		f.err = err
	}
}

// text is a required text.
func (f *form) text(key string, p *string) {
	if f.write {
		f.h.SetString(key, *p)
		return
	}
	var err error
	*p, err = f.h.Text(key)
	f.keep(err)
}

// optText is a text that is "" when absent.
func (f *form) optText(key string, p *string) {
	if !f.write {
		*p = f.h.OptText(key)
	} else if *p != "" {
		f.h.SetString(key, *p)
	}
}

func (f *form) int32(key string, p *int32) {
	if f.write {
		f.h.SetInt(key, int64(*p))
		return
	}
	var err error
	*p, err = f.h.Int32(key)
	f.keep(err)
}

func (f *form) int64(key string, p *int64) {
	if f.write {
		f.h.SetInt(key, *p)
		return
	}
	var err error
	*p, err = f.h.Int64(key)
	f.keep(err)
}

// defInt32 is a number that is 0 when absent. It is always written.
func (f *form) defInt32(key string, p *int32) {
	if f.write {
		f.h.SetInt(key, int64(*p))
		return
	}
	var err error
	*p, err = f.h.OptInt32(key, 0)
	f.keep(err)
}

func (f *form) defInt64(key string, p *int64) {
	if f.write {
		f.h.SetInt(key, *p)
		return
	}
	var err error
	*p, err = f.h.OptInt64(key, 0)
	f.keep(err)
}

// optInt32 is a number that may be absent, which has tells.
func (f *form) optInt32(key string, p *int32, has *bool) {
	if f.write {
		if *has {
			f.h.SetInt(key, int64(*p))
		}
		return
	}
	v, ok := f.h.Get(key)
	if *has = ok && len(v) > 0; *has {
		f.int32(key, p)
	}
}

// flag is a boolean that is false when absent.
func (f *form) flag(key string, p *bool) {
	if f.write {
		f.h.SetBool(key, *p)
	} else {
		*p = f.h.Bool(key)
	}
}

package fastjson

// AppendStrict appends src, a document in fastjson's dialect, to dst as strict, compact JSON. Bare and single-quoted
// keys are quoted, an object that is a key becomes a string that holds the object's compact text, extra commas go,
// "$ref" stays as it is. Members keep their order, and repeated ones stay. dst must not overlap src.
func AppendStrict(dst, src []byte) ([]byte, error) {
	if len(src) > MaxSize {
		return dst, &SyntaxError{MaxSize, "document is longer than 64 MiB"}
	}
	r := reader{b: decoded(src)}
	out, err := r.strict(dst)
	if err == nil {
		err = r.end()
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

func (r *reader) strict(dst []byte) ([]byte, error) {
	switch r.space() {
	case '{':
		return r.strictObject(dst)
	case '[':
		return r.strictArray(dst)
	}
	v, err := r.scalar()
	if err != nil {
		return dst, err
	}
	switch v.kind {
	case isString:
		return AppendString(dst, v.text), nil
	case isNull:
		return append(dst, "null"...), nil
	}
	return append(dst, v.text...), nil
}

func (r *reader) strictArray(dst []byte) ([]byte, error) {
	if err := r.open(); err != nil {
		return dst, err
	}
	dst = append(dst, '[')
	for n := 0; ; n++ {
		if r.comma() == ']' {
			r.close()
			return append(dst, ']'), nil
		}
		if n > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = r.strict(dst); err != nil {
			return dst, err
		}
	}
}

func (r *reader) strictObject(dst []byte) ([]byte, error) {
	if err := r.open(); err != nil {
		return dst, err
	}
	dst = append(dst, '{')
	for n := 0; ; n++ {
		c := r.comma()
		if c == '}' {
			r.close()
			return append(dst, '}'), nil
		}
		if n > 0 {
			dst = append(dst, ',')
		}
		key, err := r.keyText(c)
		if err != nil {
			return dst, err
		}
		dst = AppendString(dst, key)
		if err := r.colon(); err != nil {
			return dst, err
		}
		dst = append(dst, ':')
		if dst, err = r.strict(dst); err != nil {
			return dst, err
		}
	}
}

// keyText reads any key; of an object that is a key it returns the compact text.
func (r *reader) keyText(c byte) ([]byte, error) {
	if c == '{' {
		return r.strictObject(nil)
	}
	return r.key()
}

// skip passes over a value.
func (r *reader) skip() error {
	c := r.space()
	if c != '{' && c != '[' {
		_, err := r.scalar()
		return err
	}
	if err := r.open(); err != nil {
		return err
	}
	for {
		k := r.comma()
		if k == c+2 { // the closing bracket is two further in ASCII, for both
			r.close()
			return nil
		}
		if c == '{' {
			if err := r.skipKey(k); err != nil {
				return err
			}
		}
		if err := r.skip(); err != nil {
			return err
		}
	}
}

func (r *reader) skipKey(c byte) (err error) {
	if c == '{' {
		err = r.skip()
	} else {
		_, err = r.key()
	}
	if err != nil {
		return err
	}
	return r.colon()
}

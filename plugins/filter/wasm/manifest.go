package wasm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// manifestSection is the custom section that holds the manifest.
const manifestSection = "mqf.manifest"

// The version of the ABI that this host serves.
const (
	abiMajor = 1
	abiMinor = 0
)

// Bounds of a manifest.
const (
	slotsMax       = 64
	configMax      = 64
	testsMax       = 1000
	manifestMax    = 256 << 10
	bodyCapDefault = 4 << 10
	bodyCapMax     = 256 << 10
	pagesDefault   = 16
)

// Manifest is what a module says of itself, as JSON in its custom section mqf.manifest. It is read before any of the
// module's code runs.
type Manifest struct {
	Name string `json:"name"`
	// Version is the module's own: major.minor.patch.
	Version string `json:"version"`
	// ABI is the lowest version of the ABI that the module can do with: "1.0".
	ABI string `json:"abi"`
	// Kind lists what the module is: filter, functions or both.
	Kind []string `json:"kind"`
	// Purity is pure or impure: whether a verdict depends on nothing but the message.
	Purity string `json:"purity"`
	// Props are the properties that the module reads, in the order of its slots.
	Props []Slot `json:"props"`
	// Needs lists what a batch has beside properties: meta, body, raw_props.
	Needs []string `json:"needs"`
	// BodyCap is how many bytes of each body are put into a batch; 4096 if it is 0.
	BodyCap int `json:"body_cap"`
	// Functions are for SQL92.
	Functions []Function `json:"functions"`
	// Config are the module's settings.
	Config []Setting `json:"config"`
	// MemoryPages is how far the memory may grow, in pages of 64 KiB; 16 if it is 0.
	MemoryPages int `json:"memory_pages"`
	// FuelPerRecord asks for less fuel than the operator allows.
	FuelPerRecord int64 `json:"fuel_per_record"`
	// Stateless says that a batch leaves nothing behind that the next could see.
	Stateless bool `json:"stateless"`
	// Tests are run when the module is loaded.
	Tests []Test `json:"tests"`
}

// Slot is a property that a module reads.
type Slot struct {
	Name string   `json:"name"`
	Type SlotType `json:"type"`
}

// Setting is a value that an operator or a subscription gives to a module.
type Setting struct {
	Name     string   `json:"name"`
	Type     SlotType `json:"type"`
	Default  *string  `json:"default"`
	Required bool     `json:"required"`
	About    string   `json:"about"`
}

// Function is a function that SQL92 expressions may call.
type Function struct {
	Number int        `json:"number"`
	Name   string     `json:"name"`
	Args   []SlotType `json:"args"`
	Result SlotType   `json:"result"`
	// Nulls is strict, the default, or called.
	Nulls  string `json:"nulls"`
	Purity string `json:"purity"`
}

// Test is a message and what the module says of it.
type Test struct {
	Name   string            `json:"name"`
	Config map[string]string `json:"config"`
	Props  map[string]string `json:"props"`
	Tag    string            `json:"tag"`
	Body   string            `json:"body"`
	Want   string            `json:"want"`
}

// SlotType is how a property, setting, argument or result is read. The numbers are those of the batch layout.
type SlotType uint8

// The types.
const (
	SlotText SlotType = iota
	SlotInt32
	SlotInt64
	SlotDouble
	SlotBoolean
	slotTypes
)

var slotTypeNames = [slotTypes]string{"text", "int32", "int64", "double", "boolean"}

// String returns the name in a manifest.
func (t SlotType) String() string {
	if t < slotTypes {
		return slotTypeNames[t]
	}
	return strconv.Itoa(int(t))
}

// MarshalText writes the name in a manifest.
func (t SlotType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the name in a manifest.
func (t *SlotType) UnmarshalText(b []byte) error {
	i := slices.Index(slotTypeNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("type %q: want one of %s", b, strings.Join(slotTypeNames[:], ", "))
	}
	*t = SlotType(i)
	return nil
}

// ParseManifest reads and checks the JSON of a manifest. Unknown fields are refused: a later version of the ABI has
// another number.
func ParseManifest(data []byte) (*Manifest, error) {
	if len(data) > manifestMax {
		return nil, fault(ErrTooLarge, "the manifest has %d bytes; at most %d are allowed", len(data), manifestMax)
	}
	m := &Manifest{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, fault(ErrManifest, "%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fault(ErrManifest, "there is something behind the JSON object")
	}
	if text := m.wrong(); text != "" {
		return nil, fault(ErrManifest, "%s", text)
	}
	return m, nil
}

var (
	namePattern    = regexp.MustCompile(`^[a-z][a-z0-9_.-]{0,63}$`)
	wordPattern    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	versionPattern = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})([-+][0-9A-Za-z.+-]{1,64})?$`)
)

// wrong returns what is wrong with m, or nothing.
func (m *Manifest) wrong() string {
	for _, check := range []func() string{m.wrongHead, m.wrongProps, m.wrongConfig, m.wrongFunctions, m.wrongTests} {
		if text := check(); text != "" {
			return text
		}
	}
	return ""
}

func (m *Manifest) wrongHead() string {
	switch {
	case !namePattern.MatchString(m.Name):
		return fmt.Sprintf("name %q: want lower case letters, digits, _ . and -", m.Name)
	case !versionPattern.MatchString(m.Version):
		return fmt.Sprintf("version %q: want major.minor.patch", m.Version)
	case len(m.Kind) == 0 || !only(m.Kind, "filter", "functions"):
		return fmt.Sprintf("kind %q: want a list of filter and functions", m.Kind)
	case m.Purity != "pure" && m.Purity != "impure":
		return fmt.Sprintf("purity %q: want pure or impure", m.Purity)
	case m.Purity == "pure" && !m.Stateless:
		return "purity is pure, but stateless isn't true"
	case !only(m.Needs, "meta", "body", "raw_props"):
		return fmt.Sprintf("needs %q: want a list of meta, body and raw_props", m.Needs)
	case m.BodyCap < 0 || m.BodyCap > bodyCapMax:
		return fmt.Sprintf("body_cap %d: want 0 to %d", m.BodyCap, bodyCapMax)
	case m.MemoryPages < 0 || m.MemoryPages > 1<<16:
		return fmt.Sprintf("memory_pages %d: want 0 to 65536", m.MemoryPages)
	case m.FuelPerRecord < 0:
		return "fuel_per_record is negative"
	}
	var major, minor int
	if n, err := fmt.Sscanf(m.ABI, "%d.%d", &major, &minor); n != 2 || err != nil || m.ABI != fmt.Sprintf("%d.%d", major, minor) {
		return fmt.Sprintf("abi %q: want \"1.0\"", m.ABI)
	}
	if major != abiMajor || minor > abiMinor || minor < 0 {
		return fmt.Sprintf("abi %s isn't served here; this broker has %d.%d", m.ABI, abiMajor, abiMinor)
	}
	return ""
}

// only says whether every entry of list is one of words, and none is there twice.
func only(list []string, words ...string) bool {
	for i, s := range list {
		if !slices.Contains(words, s) || slices.Contains(list[:i], s) {
			return false
		}
	}
	return true
}

func (m *Manifest) wrongProps() string {
	if len(m.Props) > slotsMax {
		return fmt.Sprintf("%d props; at most %d are allowed", len(m.Props), slotsMax)
	}
	for i, p := range m.Props {
		if !propertyName(p.Name) {
			return fmt.Sprintf("props: %q is no property name", p.Name)
		}
		if slices.Contains(m.Props[:i], p) {
			return fmt.Sprintf("props: %s as %s is there twice", p.Name, p.Type)
		}
	}
	return ""
}

// propertyName says whether a message can have a property of that name.
func propertyName(s string) bool {
	return s != "" && len(s) <= 255 && !strings.ContainsAny(s, "\x00\x01\x02")
}

func (m *Manifest) wrongConfig() string {
	if len(m.Config) > configMax {
		return fmt.Sprintf("%d settings in config; at most %d are allowed", len(m.Config), configMax)
	}
	for i, s := range m.Config {
		switch {
		case !wordPattern.MatchString(s.Name):
			return fmt.Sprintf("config: %q is no name", s.Name)
		case slices.ContainsFunc(m.Config[:i], func(o Setting) bool { return o.Name == s.Name }):
			return fmt.Sprintf("config: %s is there twice", s.Name)
		case s.Required && s.Default != nil:
			return fmt.Sprintf("config: %s is required and has a default", s.Name)
		case s.Default != nil && !parses(*s.Default, s.Type):
			return fmt.Sprintf("config: the default of %s, %q, is no %s", s.Name, *s.Default, s.Type)
		}
	}
	return ""
}

func (m *Manifest) wrongFunctions() string {
	if has := slices.Contains(m.Kind, "functions"); has != (len(m.Functions) > 0) {
		return "kind and functions contradict each other"
	}
	for i, f := range m.Functions {
		switch {
		case f.Number != i:
			return fmt.Sprintf("functions: %s has number %d, but is in place %d", f.Name, f.Number, i)
		case !wordPattern.MatchString(f.Name):
			return fmt.Sprintf("functions: %q is no name", f.Name)
		case slices.ContainsFunc(m.Functions[:i], func(o Function) bool { return o.Name == f.Name }):
			return fmt.Sprintf("functions: %s is there twice", f.Name)
		case len(f.Args) > slotsMax:
			return fmt.Sprintf("functions: %s has %d arguments; at most %d are allowed", f.Name, len(f.Args), slotsMax)
		case f.Result != SlotInt64 && f.Result != SlotDouble && f.Result != SlotBoolean:
			return fmt.Sprintf("functions: %s has a result of type %s; want int64, double or boolean", f.Name, f.Result)
		case f.Nulls != "" && f.Nulls != "strict" && f.Nulls != "called":
			return fmt.Sprintf("functions: nulls of %s: want strict or called", f.Name)
		case f.Purity != "" && f.Purity != "pure" && f.Purity != "impure":
			return fmt.Sprintf("functions: purity of %s: want pure or impure", f.Name)
		}
	}
	return ""
}

func (m *Manifest) wrongTests() string {
	if len(m.Tests) > testsMax {
		return fmt.Sprintf("%d tests; at most %d are allowed", len(m.Tests), testsMax)
	}
	for i, x := range m.Tests {
		if !slices.Contains([]string{"true", "false", "unknown", "raise"}, x.Want) {
			return fmt.Sprintf("tests: want %q of test %d: want true, false, unknown or raise", x.Want, i)
		}
	}
	return ""
}

// has says whether the module needs something beside properties.
func (m *Manifest) has(need string) bool { return slices.Contains(m.Needs, need) }

func (m *Manifest) filters() bool { return slices.Contains(m.Kind, "filter") }

// pages returns how far the memory may grow under an operator's limit.
func (m *Manifest) pages(most uint32) uint32 {
	if m.MemoryPages == 0 {
		return min(pagesDefault, most)
	}
	return uint32(m.MemoryPages)
}

func (m *Manifest) bodyCap() int {
	if m.BodyCap == 0 {
		return bodyCapDefault
	}
	return m.BodyCap
}

package filter

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestParseInteger wants what Java's Integer.valueOf and Long.valueOf take.
func TestParseInteger(t *testing.T) {
	tests := []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"-0", 0, true}, {"+7", 7, true}, {"-7", -7, true}, {"007", 7, true}, {strings.Repeat("0", 40) + "3", 3, true},
		{"2147483647", math.MaxInt32, true}, {"2147483648", 1 << 31, true}, {"-2147483648", math.MinInt32, true}, {"-2147483649", -1<<31 - 1, true},
		{"9223372036854775807", math.MaxInt64, true}, {"-9223372036854775808", math.MinInt64, true}, {"999999999999999999", 999999999999999999, true},
		{"9223372036854775808", 0, false}, {"-9223372036854775809", 0, false}, {"99999999999999999999", 0, false},
		{"３", 3, true}, {"٣", 3, true}, {"1３5", 135, true}, {"-٣", -3, true}, {"෦෧", 1, true}, {"𝟛", 0, false}, {"½", 0, false}, {"Ⅷ", 0, false},
		{"", 0, false}, {"+", 0, false}, {"-", 0, false}, {"--1", 0, false}, {"+-1", 0, false}, {" 1", 0, false}, {"1 ", 0, false}, {"1.0", 0, false},
		{"1e3", 0, false}, {"0x10", 0, false}, {"1_000", 0, false}, {"3L", 0, false}, {"\xff", 0, false}, {"1\xe3\x81", 0, false},
	}
	for _, tt := range tests {
		n, ok := ParseInt64([]byte(tt.text))
		if ok != tt.ok || ok && n != tt.want {
			t.Errorf("ParseInt64(%q) = %d %v, want %d %v", tt.text, n, ok, tt.want, tt.ok)
		}
		m, ok := ParseInt32([]byte(tt.text))
		if want := tt.ok && tt.want == int64(int32(tt.want)); ok != want || ok && int64(m) != tt.want {
			t.Errorf("ParseInt32(%q) = %d %v, want %d %v", tt.text, m, ok, tt.want, want)
		}
	}
}

// TestParseDouble wants what Java's Double.valueOf takes.
func TestParseDouble(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	tests := []struct {
		text string
		want float64
		ok   bool
	}{
		{"0", 0, true}, {"3", 3, true}, {"-3.5", -3.5, true}, {"+3.5", 3.5, true}, {"1.", 1, true}, {".5", .5, true}, {"-.5", -.5, true}, {"007.50", 7.5, true},
		{"1e5", 1e5, true}, {"1E+5", 1e5, true}, {"1.5e-3", .0015, true}, {"0.1", 0.1, true}, {"123456789.123456", 123456789.123456, true},
		{"0.30000000000000004", 0.30000000000000004, true}, {"9007199254740993", 9007199254740992, true}, {"999999999999999", 999999999999999, true},
		{" 3 ", 3, true}, {"\t\n3\x00\x1f", 3, true}, {"1f", 1, true}, {"1.5D", 1.5, true}, {"1e5f", 1e5, true}, {"1d ", 1, true},
		{"NaN", nan, true}, {"-NaN", nan, true}, {"Infinity", inf, true}, {"+Infinity", inf, true}, {"-Infinity", -inf, true},
		{"1e400", inf, true}, {"-1e400", -inf, true}, {"1e-400", 0, true}, {"1e99999999999", inf, true}, {"4.9E-324", 5e-324, true},
		{"0x1p3", 8, true}, {"0x.8p0", .5, true}, {"0x1.p0", 1, true}, {"-0X1P-1d", -.5, true}, {"0xfp0f", 15, true}, {"0xfp0", 15, true},
		{"", 0, false}, {" ", 0, false}, {"+", 0, false}, {".", 0, false}, {"-.", 0, false}, {"e5", 0, false}, {"1e", 0, false}, {"1e+", 0, false},
		{"nan", 0, false}, {"NAN", 0, false}, {"inf", 0, false}, {"infinity", 0, false}, {"Inf", 0, false}, {"NaNf", 0, false}, {"Infinityd", 0, false},
		{"1dd", 0, false}, {"d", 0, false}, {"1.2.3", 0, false}, {"- 3", 0, false}, {"--3", 0, false}, {"1_0", 0, false}, {"0x1", 0, false}, {"0x1f", 0, false},
		{"0x1_0p0", 0, false}, {"0xp1", 0, false}, {"0x1p", 0, false}, {"３", 0, false}, {"3L", 0, false}, {"\u00a03", 0, false},
	}
	for _, tt := range tests {
		f, ok := ParseDouble([]byte(tt.text))
		if ok != tt.ok || ok && OrderDouble(f) != OrderDouble(tt.want) {
			t.Errorf("ParseDouble(%q) = %v %v, want %v %v", tt.text, f, ok, tt.want, tt.ok)
		}
	}
}

func TestOrderDouble(t *testing.T) {
	order := []float64{math.Inf(-1), -math.MaxFloat64, -1.5, -1, -5e-324, math.Copysign(0, -1), 0, 5e-324, 1, 1.5, math.MaxFloat64, math.Inf(1), math.NaN()}
	if !slices.IsSortedFunc(order, func(a, b float64) int { return cmp.Compare(OrderDouble(a), OrderDouble(b)) }) {
		t.Error("not in Java's order")
	}
	for i := 1; i < len(order); i++ {
		if OrderDouble(order[i-1]) >= OrderDouble(order[i]) {
			t.Errorf("%v isn't below %v", order[i-1], order[i])
		}
	}
	for _, f := range order {
		if got := math.Float64bits(UnorderDouble(OrderDouble(f))); got != math.Float64bits(f) && f == f || f != f && got != nanBits {
			t.Errorf("%v comes back as %#x", f, got)
		}
	}
	if OrderDouble(math.NaN()) != OrderDouble(math.Float64frombits(0xfff8000000000001)) {
		t.Error("two NaNs differ")
	}
}

// FuzzParseNumber compares with strconv wherever that reads numbers as Java does.
func FuzzParseNumber(f *testing.F) {
	for _, s := range []string{"1", "-2147483649", "1.5", "123456789012345.6", "00000000000000000.5", "999999999999999999999", "1e22", "-0", "0x1p4", "٣", "NaN"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, ok := ParseInt64([]byte(s))
		if want, err := strconv.ParseInt(s, 10, 64); ok != (err == nil) && isASCII(s) || err == nil && n != want {
			t.Fatalf("ParseInt64(%q) = %d %v, want %d %v", s, n, ok, want, err)
		}
		d, ok := ParseDouble([]byte(s))
		if strings.Trim(s, "0123456789.-+eE") != "" {
			return
		}
		want, err := strconv.ParseFloat(s, 64)
		if good := err == nil || math.IsInf(want, 0); ok != good || good && d != want {
			t.Fatalf("ParseDouble(%q) = %v %v, want %v %v", s, d, ok, want, err)
		}
	})
}

func isASCII(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r > 127 }) }

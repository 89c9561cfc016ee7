package wasm

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with a module. The errors of this package wrap one of these, name the module, and say what to do.
var (
	// ErrHash says that the file isn't the one that was pinned.
	ErrHash = errors.New("the module isn't the one that sha256 pins")
	// ErrTooLarge says that the module, or a part of it, exceeds a limit.
	ErrTooLarge = errors.New("the module exceeds a limit")
	// ErrMalformed says that the bytes are no WebAssembly 2.0 module.
	ErrMalformed = errors.New("the module isn't valid WebAssembly 2.0")
	// ErrImport says that the module wants something that no filter gets.
	ErrImport = errors.New("the module imports what a filter doesn't get")
	// ErrExport says that the module lacks an export of the ABI, or has it with another type.
	ErrExport = errors.New("the module doesn't export what the ABI demands")
	// ErrManifest says that the module has no manifest, or one that contradicts itself or the module.
	ErrManifest = errors.New("the module's manifest is missing or wrong")
	// ErrConfig says that a configuration value is missing, unknown or of the wrong type.
	ErrConfig = errors.New("the module's configuration is wrong")
	// ErrTest says that a test of the manifest has another outcome than it says.
	ErrTest = errors.New("a test of the module's manifest fails")
	// ErrUnknownModule says that no module of that name is declared.
	ErrUnknownModule = errors.New("there is no such WASM module")
	// ErrUnknownFunction says that the module has no function of that name.
	ErrUnknownFunction = errors.New("there is no such WASM function")
)

// What can go wrong when a module runs. The failure of one call leaves messages undecided.
var (
	// ErrStart says that the module failed before it was asked to judge.
	ErrStart = errors.New("the module doesn't start")
	// ErrFuel says that a call used all of its fuel: an endless loop, or more work than is allowed.
	ErrFuel = errors.New("the module ran out of fuel")
	// ErrStack says that a call nested its functions too deeply.
	ErrStack = errors.New("the module's calls are nested too deeply")
	// ErrTrap says that a call trapped: it read outside of its memory, divided by zero, panicked.
	ErrTrap = errors.New("the module trapped")
	// ErrImportUse says that the module called an import at the wrong time or with impossible arguments.
	ErrImportUse = errors.New("the module misuses an import")
	// ErrArea says that mqf_buffer returned no area, or one that isn't in the memory.
	ErrArea = errors.New("the module gives no area for a batch")
	// ErrResultCount says that the module judged another number of messages than it was given.
	ErrResultCount = errors.New("the module returned a wrong number of results")
	// ErrCode says that the module refused a batch or a configuration with a negative code.
	ErrCode = errors.New("the module returned an error code")
	// ErrSlots says that two instances of a module asked for different properties.
	ErrSlots = errors.New("two instances of the module asked for different properties")
	// ErrOpen says that the circuit breaker is open and the module isn't called.
	ErrOpen = errors.New("the module failed too often and isn't called for a while")
	// ErrDisabled says that an operator has disabled the module.
	ErrDisabled = errors.New("the module is disabled")
	// ErrRemoved says that an operator has removed the module although it was in use.
	ErrRemoved = errors.New("the module has been removed")
	// ErrStopped says that the filter has been stopped.
	ErrStopped = errors.New("the filter isn't running")
)

// Code names the kind of an error of this package in a word, for scripts: manifest, import, fuel. It is "" for other errors.
func Code(err error) string {
	for _, x := range []struct {
		kind error
		code string
	}{
		{ErrTest, "test"}, {ErrStart, "start"}, {ErrHash, "hash"}, {ErrTooLarge, "too_large"}, {ErrMalformed, "malformed"},
		{ErrImport, "import"}, {ErrExport, "export"}, {ErrManifest, "manifest"}, {ErrConfig, "config"},
		{ErrUnknownModule, "unknown_module"}, {ErrUnknownFunction, "unknown_function"}, {ErrFuel, "fuel"}, {ErrStack, "stack"},
		{ErrTrap, "trap"}, {ErrImportUse, "import_use"}, {ErrArea, "area"}, {ErrResultCount, "result_count"}, {ErrCode, "code"},
		{ErrSlots, "slots"}, {ErrOpen, "open"}, {ErrDisabled, "disabled"}, {ErrRemoved, "removed"}, {ErrStopped, "stopped"},
	} {
		if errors.Is(err, x.kind) {
			return x.code
		}
	}
	return ""
}

// fault wraps a sentinel with what was seen.
func fault(kind error, format string, args ...any) error {
	return fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...))
}

// codeText names the negative codes of the ABI.
func codeText(code int32) string {
	switch code {
	case -1:
		return "-1, unspecified"
	case -2:
		return "-2, bad batch"
	case -3:
		return "-3, the layout version isn't supported"
	case -4:
		return "-4, bad configuration"
	case -5:
		return "-5, out of memory"
	case -6:
		return "-6, unknown function"
	}
	return fmt.Sprint(code)
}

// printable makes text from a guest fit for a log or a remark: no control characters, bounded.
func printable(b []byte, most int) string {
	if len(b) > most {
		b = b[len(b)-most:]
	}
	s := strings.ToValidUTF8(string(b), "?")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

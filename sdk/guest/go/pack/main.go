// Command pack puts a manifest into a WebAssembly module, as its last section:
//
//	pack manifest.json filter.wasm
package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pack manifest.json filter.wasm")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

const section = "mqf.manifest"

func pack(manifest, module string) error {
	text, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	if !json.Valid(text) {
		return fmt.Errorf("%s is no JSON", manifest)
	}
	bin, err := os.ReadFile(module)
	if err != nil {
		return err
	}
	if len(bin) < 8 || string(bin[:4]) != "\x00asm" {
		return errors.New(module + " is no WebAssembly module")
	}
	content := append(binary.AppendUvarint(nil, uint64(len(section))), section...)
	content = append(content, text...)
	bin = binary.AppendUvarint(append(bin, 0), uint64(len(content)))
	return os.WriteFile(module, append(bin, content...), 0o644)
}

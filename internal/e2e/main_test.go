package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binaries is the folder of the programs under test.
var binaries string

// TestMain builds the programs once. They are built with the race detector, and
// so that released frames are filled with rubbish: a view of a request that was
// kept too long shows in what the clients read back.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "e2e-bin-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binaries = dir
		build := exec.Command("go", "build", "-race", "-tags", "framepoison", "-o", dir+string(filepath.Separator),
			"kafka-iggy-bridge/cmd/kafka-iggy-bridge", "kafka-iggy-bridge/cmd/kafka-tool")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the programs: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

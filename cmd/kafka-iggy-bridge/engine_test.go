package main

import (
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
)

// startEngine runs the engine alone and returns its address as well.
func startEngine(t *testing.T, args ...string) (*running, string) {
	t.Helper()
	r := startBridge(t, append([]string{"engine"}, args...)...)
	_, rest, ok := strings.Cut(r.line, "Iggy clients: ")
	if !ok {
		t.Fatalf("printed %q", r.line)
	}
	address, _, _ := strings.Cut(rest, " ")
	return r, address
}

func TestEngineAloneServesIggyClientsAndEndsInOrder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	r, address := startEngine(t, "--embedded.data_dir="+dir, "--iggy.password=for-this-test")
	if want := "user iggy, password as configured\n"; !strings.HasSuffix(r.line, want) || strings.Contains(r.line, "for-this-test") {
		t.Errorf("printed %q, want the end %q", r.line, want)
	}
	cli, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(address))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cli.Close() }()
	if _, err := cli.LoginUser("iggy", "for-this-test"); err != nil {
		t.Fatal(err)
	}
	if _, err := cli.CreateStream("kept"); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte{4, 0, 0, 0, 1, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if status := readStatus(t, conn); status != 0 {
		t.Errorf("ping: status %d", status)
	}
	r.end()
	if status := readStatus(t, conn); status != 8 {
		t.Errorf("an idle client was told status %d, want 8", status)
	}

	r, address = startEngine(t, "--embedded.data_dir="+dir, "--embedded.tls.enabled")
	if want := filepath.Join(dir, "tls-cert.pem"); !strings.Contains(r.line, want) {
		t.Errorf("printed %q without %q", r.line, want)
	}
	cli, err = tcp.NewIggyTcpClient(tcp.WithServerAddress(address),
		tcp.WithTLS(tcp.WithTLSCAFile(filepath.Join(dir, "tls-cert.pem")), tcp.WithTLSDomain("localhost")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cli.Close() }()
	if _, err := cli.LoginUser("iggy", "for-this-test"); err != nil {
		t.Fatal(err)
	}
	if streams, err := cli.GetStreams(); err != nil || len(streams) != 1 || streams[0].Name != "kept" {
		t.Errorf("after a restart: %v, %v", streams, err)
	}
	r.end()
}

func readStatus(t *testing.T, conn net.Conn) uint32 {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	var head [8]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.Uint32(head[:])
}

func TestBridgeReachesItsEngineOverTLS(t *testing.T) {
	t.Parallel()
	r := startBridge(t, "--embedded.data_dir="+t.TempDir(), "--embedded.tls.enabled")
	r.end()
}

func TestEngineWithAnotherServersAddressIsAMistake(t *testing.T) {
	t.Parallel()
	code, _, errs := execute("engine", "--iggy.address=127.0.0.1:1", "--iggy.password=x")
	if code != exitUsage || !strings.Contains(errs, "embedded.listen") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

package server

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/internal/telemetry"
)

// discarding answers every frame with the same eight bytes.
type discarding struct{ segments [1][]byte }

func (d *discarding) Dispatch(context.Context, *Peer, []byte) (Response, error) {
	d.segments[0] = []byte("\x00\x00\x00\x04done")
	return Response{Segments: d.segments[:]}, nil
}

// BenchmarkRoundTrip is one request and its answer over loopback: what the
// server adds to each request of a client that waits for every answer.
func BenchmarkRoundTrip(b *testing.B) {
	for name, size := range map[string]int{"100B": 100, "16KiB": 16 << 10, "1MiB": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			s := New(Options{}, &discarding{}, logrus.New(), telemetry.NewMetrics("bench"))
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- s.Serve(l) }()
			nc, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			request := fakeFrame(verbEcho, 1, bytes.Repeat([]byte{1}, size))
			var answer [8]byte
			b.SetBytes(int64(len(request)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := nc.Write(request); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(nc, answer[:]); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			if err := nc.Close(); err != nil {
				b.Fatal(err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			<-served
		})
	}
}

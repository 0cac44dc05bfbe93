//go:build !linux

package server

import "net"

// socket is the way around net.Conn that Linux has.
type socket struct{}

func newSocket(net.Conn) *socket { return nil }

func (s *socket) fill(*inbox) (int, error) { return 0, net.ErrClosed }

func (s *socket) tryWrite(net.Buffers) (int, error) { return 0, net.ErrClosed }

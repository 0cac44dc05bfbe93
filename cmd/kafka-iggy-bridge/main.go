// Command kafka-iggy-bridge lets Kafka clients use Apache Iggy: it speaks the
// Kafka protocol and keeps everything in an Iggy server, or in its embedded
// engine when no server is named.
//
//	kafka-iggy-bridge [flags]          run the bridge
//	kafka-iggy-bridge engine [flags]   run the embedded engine alone, for Iggy's own clients
//	kafka-iggy-bridge groups …         list, describe, reset and hand over Kafka's consumer groups
//	kafka-iggy-bridge config [flags]   print the effective configuration
//	kafka-iggy-bridge version          print the version
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, signals))
}

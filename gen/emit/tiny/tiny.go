// Package tiny is code generated from a few made-up specs, which hold what the
// real ones make hard. Its tests compare it with bytes written out by hand.
package tiny

//go:generate go run ./gen -schemas schemas -out .

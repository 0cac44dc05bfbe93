//go:build !framepoison

package server

// poisonFrames is on under the build tag framepoison only.
const poisonFrames = false

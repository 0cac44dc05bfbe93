//go:build framepoison

package server

// poisonFrames fills released frames with rubbish: a view of a frame that
// outlives its request then breaks a test instead of serving stale data.
const poisonFrames = true

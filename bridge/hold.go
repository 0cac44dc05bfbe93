package bridge

import "context"

// hold takes the one place in a channel, which gives it to one at a time, and
// waits for it until ctx ends.
func hold(ctx context.Context, place chan struct{}) (release func(), err error) {
	select {
	case place <- struct{}{}:
		return func() { <-place }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/util/flowcontrol"
)

// budget is one allowance of requests for all workers of a container: so many a second, after so many at
// once. It is a single number in a file that all of them map: when the next request is due, if none of those
// at once are left. No worker can hold a lock that others wait for, so one that is killed costs nothing.
type budget struct {
	due      *int64
	interval time.Duration
	ahead    time.Duration
	qps      float32
}

var _ flowcontrol.RateLimiter = (*budget)(nil)

// openBudget maps the file, which is at least eight octets long and was filled with zeros.
func openBudget(path string, qps float32, burst int) (*budget, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("the budget of requests: %w", err)
	}
	defer file.Close()
	mapped, err := unix.Mmap(int(file.Fd()), 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("the budget of requests: %w", err)
	}
	interval := time.Duration(float64(time.Second) / float64(qps))
	ahead := time.Duration(burst) * interval
	return &budget{(*int64)(unsafe.Pointer(&mapped[0])), interval, ahead, qps}, nil
}

// take gives how long the request is to wait that it has taken from the budget.
func (b *budget) take() time.Duration {
	for {
		now := monotonic()
		before := atomic.LoadInt64(b.due)
		due := max(before, now-int64(b.ahead)) + int64(b.interval)
		if atomic.CompareAndSwapInt64(b.due, before, due) {
			return time.Duration(due - now)
		}
	}
}

func (b *budget) Wait(ctx context.Context) error {
	wait := b.take()
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *budget) Accept() {
	time.Sleep(b.take())
}

// TryAccept takes a request only where it need not wait.
func (b *budget) TryAccept() bool {
	now := monotonic()
	before := atomic.LoadInt64(b.due)
	due := max(before, now-int64(b.ahead)) + int64(b.interval)
	return due <= now && atomic.CompareAndSwapInt64(b.due, before, due)
}

func (b *budget) Stop() {}

func (b *budget) QPS() float32 {
	return b.qps
}

// monotonic is the clock that all processes of a machine share, in nanoseconds.
func monotonic() int64 {
	var now unix.Timespec
	// It is there on every machine that Go runs on.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano()
}

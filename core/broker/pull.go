package broker

import (
	"context"

	"github.com/weirmq/weir/core/transport"
)

// Pull implements transport.Puller.
func (h *handler) Pull(ctx context.Context, p *transport.Pull) {
	if err := h.consumerOf(ctx, &p.Caller, p.Group, p.Topic); err != nil {
		p.Code, p.Remark = code(err)
		p.Reply.PullDone(p)
		return
	}
	h.pulls.Pull(ctx, p)
}

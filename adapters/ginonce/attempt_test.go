package ginonce

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
)

// A store may run a work again: each attempt has a fresh answer and none of the errors of the one before.
func TestEachAttemptIsFresh(t *testing.T) {
	t.Parallel()
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequest(http.MethodPost, "/", nil)
	_ = c.Error(errors.New("of a middleware"))
	v := &visit{c: c, request: c.Request, writer: c.Writer, errors: len(c.Errors)}
	if err := v.attempt(httptest.NewRecorder(), c.Request, func() error { _ = c.AbortWithError(409, errors.New("deadlock")); return nil }); err == nil {
		t.Error("an attached error is none")
	}
	second := httptest.NewRecorder()
	if err := v.attempt(second, c.Request, func() error { c.String(201, "done"); return nil }); err != nil {
		t.Error(err)
	}
	v.leave(nil)
	if second.Code != 201 || second.Body.String() != "done" || len(c.Errors) != 1 {
		t.Errorf("%d %q, %d errors", second.Code, second.Body, len(c.Errors))
	}
}

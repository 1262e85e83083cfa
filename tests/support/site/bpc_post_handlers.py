"""A job type that sends a request wherever its payload says, as a handler for webhooks would."""

from bpc_worker.handler_api import Context, HandlerSpec, Payload


class Post(Payload, frozen=True):
    url: str


async def post(payload: Post, ctx: Context) -> object:
    answer = await ctx.post(payload.url, headers={"Content-Type": "application/json"}, body=b"{}")
    return {"status": answer.status, "bytes": len(answer.body), "truncated": answer.truncated}


POST = HandlerSpec(job_type="TEST_POST", payload=Post, handle=post)

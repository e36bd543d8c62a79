"""TF's two services by their methods.  On the wire a method is /tensorflow.MasterService/RunStep, whatever
the package in TF's .proto files; its messages are RunStepRequest and RunStepResponse.  Methods of our own,
which TensorFlow's tasks do not know, are in a service of another package."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from headrace.distributed.wire.task_status import TaskStatus, TaskStatusRequest
from headrace.formats import proto

SERVICES = {
    "MasterService": (
        "CreateSession ExtendSession PartialRunSetup RunStep CloseSession ListDevices Reset MakeCallable "
        "RunCallable ReleaseCallable"
    ).split(),
    "WorkerService": (
        "GetStatus CreateWorkerSession DeleteWorkerSession RegisterGraph DeregisterGraph RunGraph "
        "CleanupGraph CleanupAll RecvTensor RecvBuf Logging Tracing CompleteGroup CompleteInstance "
        "GetStepSequence MarkRecvFinished"
    ).split(),
}
SERVICE_OF = {method: service for service, methods in SERVICES.items() for method in methods}


class Raw:
    """Bytes in place of a message."""

    FromString = bytes


# Request and response.  Attend: a client is there for a session, as long as the call is open.
OWN = {
    "TaskStatus": (TaskStatusRequest, TaskStatus),
    "Attend": (Raw, Raw),
    "Meet": (Raw, Raw),
    "Part": (Raw, Raw),
}
SENDER = "headrace-sender"  # metadata: which task calls, and which life of it
ASK_WHO = {"RegisterGraph"}  # methods for which that matters
sender: ContextVar[str] = ContextVar("sender", default="")  # while a call is begun


def path(method: str) -> str:
    if method in OWN:
        return f"/headrace.TaskService/{method}"
    return f"/tensorflow.{SERVICE_OF[method]}/{method}"


def request_class(method: str) -> Any:
    return OWN[method][0] if method in OWN else getattr(proto, f"{method}Request")


def response_class(method: str) -> Any:
    return OWN[method][1] if method in OWN else getattr(proto, f"{method}Response")

"""TF's two services by their methods.  On the wire a method is /tensorflow.MasterService/RunStep, whatever
the package in TF's .proto files; its messages are RunStepRequest and RunStepResponse."""

from __future__ import annotations

from typing import Any

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


def path(method: str) -> str:
    return f"/tensorflow.{SERVICE_OF[method]}/{method}"


def request_class(method: str) -> Any:
    return getattr(proto, f"{method}Request")


def response_class(method: str) -> Any:
    return getattr(proto, f"{method}Response")

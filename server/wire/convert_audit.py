"""Conversion of requests for audits and of audits to messages and back."""

from crossview.engine.values.audit import Audit, AuditRequest, Finding
from crossview.server.wire.fields import to_message, to_value
from crossview.v1 import audit_pb2 as pb


def to_audit_request(message: pb.GetAuditRequest) -> AuditRequest:
    """Return the request of a message; a server opens no source files."""
    return to_value(AuditRequest, message, limit=message.limit or AuditRequest.limit, files=False)


def from_audit_request(request: AuditRequest, name: str) -> pb.GetAuditRequest:
    """Return the message of a request to audit the collection with a resource name."""
    return to_message(pb.GetAuditRequest, request, name=name)


def to_audit(message: pb.Audit) -> Audit:
    """Return the audit of a message."""
    return to_value(Audit, message, findings=tuple(to_value(Finding, one) for one in message.findings))


def from_audit(audit: Audit) -> pb.Audit:
    """Return the message of an audit."""
    return to_message(pb.Audit, audit, findings=[to_message(pb.Finding, one) for one in audit.findings])

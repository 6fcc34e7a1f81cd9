"""My orders: those of this session on the page, all others by a mail to their address."""

from dataclasses import dataclass, field

from axes.helpers import get_client_ip_address
from django.contrib import messages
from django.core.mail import send_mail
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from orders import later, rate_limits, wording
from orders.forms import MyOrdersForm
from orders.models import Order
from orders.rate_limits import Limit
from orders.views.pages import known_submitter, render_page

ORDERS_SHOWN = 20
#: Requests of all visitors together, and of one network address.
IN_ALL = Limit("my_orders.all", 300, 600)
PER_VISITOR = Limit("my_orders.visitor", 5, 600)
#: Mails to one address, whoever requests them.
PER_MAILBOX = Limit("my_orders.mailbox", 1, 600)
PER_MAILBOX_AND_DAY = Limit("my_orders.mailbox_a_day", 5, 86_400)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def show(request: HttpRequest) -> HttpResponse:
    form = MyOrdersForm(request.POST if request.method == "POST" else None)
    if not form.is_bound:
        return _render(request, form)
    if not form.is_valid():
        return _render(request, form, status=422)
    email = form.cleaned_data["email"]
    limit = _exceeded_limit(request, email)
    if limit in (IN_ALL, PER_VISITOR):
        form.add_error("email", _("Too many requests. Try again in ten minutes."))
        return _render(request, form, status=429)
    try:
        # Orders and mail limit are checked later, so that every request takes the same time.
        later.put("my_orders.mail", _OrdersMail(email, is_new=limit is None))
    except later.Full:
        form.add_error(
            "email", _("We cannot send mail just now. Please try again in a few minutes.")
        )
        return _render(request, form, status=503)
    # The same text for every address, so as not to reveal who is a customer.
    messages.success(
        request,
        _(
            "If there are orders for %(email)s, their links are on the way to it. If nothing has"
            " come after ten minutes, ask again."
        )
        % {"email": email},
    )
    return redirect("orders:my_orders")


def _exceeded_limit(request: HttpRequest, email: str) -> Limit | None:
    """Count a request; return the limit that it exceeds, if any."""
    # A proxy on a Unix socket has no address: then no visitor is limited separately.
    visitor = get_client_ip_address(request)
    mailbox = email.lower()
    return rate_limits.first_exceeded(
        [
            (IN_ALL, ""),
            *([(PER_VISITOR, visitor)] if visitor else []),
            (PER_MAILBOX, mailbox),
            (PER_MAILBOX_AND_DAY, mailbox),
        ]
    )


@dataclass(frozen=True, slots=True)
class _OrdersMail:
    """A mail with the links of an address's latest orders; not sent if there are none."""

    email: str
    #: Whether the limits allow a mail to the address now.
    is_new: bool
    language: str = field(default_factory=translation.get_language)

    def __call__(self) -> None:
        orders = [
            order
            for order in Order.objects.filter(customer_email__iexact=self.email)
            .select_related("process")
            .order_by("-number")[:ORDERS_SHOWN]
            if _is_same_mailbox(order.customer_email, self.email)
        ]
        if not orders or not self.is_new:
            return
        with translation.override(self.language):
            entries = [
                (order, wording.process_state(order.process.state), order.link) for order in orders
            ]
            body = render_to_string("orders/my_orders_mail.txt", {"entries": entries})
            send_mail(_("Your orders"), body, None, [self.email])


def _is_same_mailbox(stored: str, typed: str) -> bool:
    """Compare case-insensitively, but only in ASCII: databases also equate look-alikes."""
    if stored.isascii() and typed.isascii():
        return stored.lower() == typed.lower()
    return stored == typed


def _render(request: HttpRequest, form: MyOrdersForm, *, status: int = 200) -> HttpResponse:
    submitter = known_submitter(request.session)
    orders = (
        Order.objects.filter(submitter=submitter).select_related("process").order_by("-number")
        if submitter
        else Order.objects.none()
    )
    rows = [(order, wording.process_state(order.process.state)) for order in orders[:ORDERS_SHOWN]]
    return render_page(
        request, "orders/my_orders.html", {"form": form, "rows": rows}, status=status
    )

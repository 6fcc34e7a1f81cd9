"""My orders: those of this session at once, all others by a mail to their address."""

import hashlib
import time

import structlog
from django.contrib import messages
from django.core.cache import cache
from django.core.mail import send_mail
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from orders import wording
from orders.forms import MyOrdersForm
from orders.models import Order
from orders.views.pages import known_submitter, render_page

logger = structlog.get_logger(__name__)

ORDERS_SHOWN = 20
ASKED_KEY = "my_orders_asked_at"
ASKS_PER_SESSION = 3
SESSION_PERIOD_SECONDS = 600
#: One address gets at most one mail in this time, whoever asks.
ADDRESS_PERIOD_SECONDS = 60


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def show(request: HttpRequest) -> HttpResponse:
    form = MyOrdersForm(request.POST if request.method == "POST" else None)
    if not form.is_bound:
        return _render(request, form)
    if not form.is_valid():
        return _render(request, form, status=422)
    if not _may_ask(request):
        form.add_error("email", _("You have asked several times. Please wait ten minutes."))
        return _render(request, form, status=429)
    email = form.cleaned_data["email"]
    _mail_links(request, email)
    # The same words for every address: nobody learns here who is a customer.
    messages.success(
        request,
        _("If there are orders for %(email)s, their links are on the way to it.")
        % {"email": email},
    )
    return redirect("orders:my_orders")


def _may_ask(request: HttpRequest) -> bool:
    """Count this question, unless the session has asked too often of late."""
    since = time.time() - SESSION_PERIOD_SECONDS
    asked = [at for at in request.session.get(ASKED_KEY, []) if at > since]
    if len(asked) >= ASKS_PER_SESSION:
        return False
    request.session[ASKED_KEY] = [*asked, time.time()]
    return True


def _mail_links(request: HttpRequest, email: str) -> None:
    """Send the links of the latest orders to the address that ordered them, if any."""
    orders = [
        order
        for order in Order.objects.filter(customer_email__iexact=email)
        .select_related("process")
        .order_by("-number")[:ORDERS_SHOWN]
        if _is_same_mailbox(order.customer_email, email)
    ]
    digest = hashlib.sha256(email.lower().encode()).hexdigest()
    if not orders or not cache.add(f"my-orders:{digest}", True, ADDRESS_PERIOD_SECONDS):
        return
    entries = [
        (order, wording.process_state(order.process.state), _link(request, order))
        for order in orders
    ]
    body = render_to_string("orders/my_orders_mail.txt", {"entries": entries})
    try:
        send_mail(_("Your orders"), body, None, [email])
    except OSError:
        # Saying so would tell a known address from an unknown one.
        logger.exception("my_orders_mail_failed")


def _is_same_mailbox(stored: str, typed: str) -> bool:
    """Compare without case, but in ASCII only: databases also equate look-alikes."""
    if stored.isascii() and typed.isascii():
        return stored.lower() == typed.lower()
    return stored == typed


def _link(request: HttpRequest, order: Order) -> str:
    return request.build_absolute_uri(order.get_absolute_url())


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

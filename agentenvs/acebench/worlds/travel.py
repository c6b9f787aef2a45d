"""Flights, reservations, and the two balances from which they are paid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, ClassVar

from agentenvs.acebench.worlds.base import Service, failed

__all__ = ["Travel"]

NOW = datetime(2024, 7, 14, 6)
BAG_FEE = 50
LATE_FEE = 0.1
#: free bags by membership: economy, business
_ALLOWANCE = MappingProxyType({"regular": (1, 2), "silver": (2, 3), "gold": (3, 3)})
_PURSES = MappingProxyType({"cash": "cash_balance", "bank": "bank_balance"})
_FUNCTIONS = frozenset(
    {
        "get_user_details",
        "get_flight_details",
        "find_transfer_flights",
        "get_reservation_details",
        "reserve_flight",
        "modify_flight",
        "cancel_reservation",
        "authenticate_user",
        "get_baggage_allowance",
        "calculate_baggage_fee",
        "calculate_price_difference",
        "update_balance",
        "process_refund",
    }
)


class Travel(Service):
    """An airline's desk, with the original's peculiarities.

    - Seats are not counted, and a new reservation holds no route.
    - Another flight costs nothing; another cabin costs the difference on the flight held
      before; bags are charged for all that are over the allowance, not just for those added.
      A change stays made where its payment fails or names an unknown method.
    - A cancelled reservation stays, and the refund goes to cash; within 24 hours 10 percent are
      kept, by a clock that stands at 2024-07-14 06:00.

    Where no recording shows it: a new flight must share the route of the reservation, or of the
    flight held where the reservation has none; a cabin held already changes nothing; a reason
    counts as the airline's where it is the exact sentence of its language; of several flights
    with one number the first counts; and a connection is the next leg leaving later.
    """

    functions = MappingProxyType({"en": _FUNCTIONS, "zh": _FUNCTIONS})
    scored: ClassVar[tuple[str, ...]] = ("users", "reservations")

    def load(self, state: Mapping[str, Any]) -> None:
        """Take the initial values."""
        self.users: Mapping[Any, Any] = state["users"]
        self.flights: Sequence[Any] = state["flights"]
        self.reservations: Sequence[Any] = state["reservations"]

    def get_user_details(self, user_id: Any, password: Any) -> Any:
        """Return an account without its password."""
        account = self.authenticate_user(user_id, password)
        return {key: value for key, value in account.items() if key != "password"}

    def authenticate_user(self, user_id: Any, password: Any) -> Any:
        """Return an account, or why not."""
        account = self.users.get(user_id)
        if account is None or account["password"] != password:
            return failed(self.texts["bad_account"])
        return dict(account)

    def get_flight_details(self, origin: Any = None, destination: Any = None) -> Any:
        """Return the direct flights of a route, or of all."""
        found = [
            dict(flight)
            for flight in self.flights
            if (not origin or flight["origin"] == origin)
            and (not destination or flight["destination"] == destination)
        ]
        return found or self.texts["no_flights"]

    def find_transfer_flights(
        self, origin_city: Any, transfer_city: Any, destination_city: Any
    ) -> Any:
        """Return the connections over a city."""
        found = [
            {"first_leg": dict(first), "second_leg": dict(second)}
            for first in self.flights
            if (first["origin"], first["destination"]) == (origin_city, transfer_city)
            for second in self.flights
            if (second["origin"], second["destination"]) == (transfer_city, destination_city)
            and first["arrival_time"] < second["depart_time"]
        ]
        return found or self.texts["no_transfer"]

    def get_reservation_details(self, reservation_id: Any = None, user_id: Any = None) -> Any:
        """Return reservations, each with its flight."""
        if reservation_id:
            key, wanted = "reservation_id", reservation_id
        elif user_id:
            key, wanted = "user_id", user_id
        else:
            return self.texts["which_reservation"]
        found = [
            {**entry, "flight_info": dict(self._flight(entry["flight_no"]) or {})}
            for entry in self.reservations
            if entry[key] == wanted
        ]
        return found or self.texts["no_reservations"]

    def reserve_flight(
        self,
        user_id: Any,
        password: Any,
        flight_no: Any,
        cabin: Any,
        payment_method: Any,
        baggage_count: Any,
    ) -> Any:
        """Book a flight, paid at once."""
        account = self.authenticate_user(user_id, password)
        if "membership_level" not in account:
            raise LookupError(self.texts["bad_account"])
        flight = self._flight(flight_no)
        if flight is None:
            raise LookupError(self.texts["unknown_flight"])
        fee = self.calculate_baggage_fee(account["membership_level"], cabin, baggage_count)
        total = self._price(flight, cabin) + fee
        refusal = self._pay(user_id, payment_method, total)
        if refusal:
            return refusal
        entry = {
            "reservation_id": f"res_{len(self.reservations) + 1}",
            "user_id": user_id,
            "flight_no": flight_no,
            "payment_method": payment_method,
            "cabin": cabin,
            "baggage": baggage_count,
        }
        self.reservations = [*self.reservations, entry]
        return self.texts["booked"].format(id=entry["reservation_id"], total=total)

    def modify_flight(
        self,
        user_id: Any,
        reservation_id: Any,
        new_flight_no: Any = None,
        new_cabin: Any = None,
        add_baggage: Any = 0,
        new_payment_method: Any = None,
    ) -> Any:
        """Change the flight, the cabin and the bags of a reservation."""
        place = self._place(user_id, reservation_id)
        if place is None:
            return self.texts["not_yours"]
        entry = self.reservations[place]
        method = new_payment_method or entry["payment_method"]
        held = self._flight(entry["flight_no"])
        said = []
        if new_flight_no and new_flight_no != entry["flight_no"]:
            route = entry if "destination" in entry else held or {}
            if not self._flies(new_flight_no, route):
                return self.texts["flight_refused"]
            self._change(place, "flight_no", new_flight_no)
            said.append(self.texts["flight_changed"])
        if new_cabin and new_cabin != entry["cabin"]:
            if held is None:
                return self.texts["unknown_flight"]
            said.append(self._change_cabin(place, held, new_cabin, method))
        if add_baggage > 0:
            said += self._add_bags(place, add_baggage, method)
        return " ".join(said) or self.texts["nothing_to_pay"]

    def cancel_reservation(self, user_id: Any, reservation_id: Any, reason: Any) -> Any:
        """Refund a reservation."""
        place = self._place(user_id, reservation_id)
        if place is None:
            return self.texts["not_yours"]
        entry = self.reservations[place]
        flight = self._flight(entry["flight_no"])
        if flight is None:
            return self.texts["unknown_flight"]
        price = self._price(flight, entry["cabin"])
        if reason == self.texts["airline"]:
            self._credit(user_id, "cash", price)
            return self.texts["airline_refund"].format(amount=price)
        if datetime.fromisoformat(flight["depart_time"]) - NOW > timedelta(hours=24):
            self._credit(user_id, "cash", price)
            return self.texts["free_refund"].format(amount=price)
        fee = price * LATE_FEE
        self._credit(user_id, "cash", price - fee)
        return self.texts["late_refund"].format(fee=fee, amount=price - fee)

    def get_baggage_allowance(self, membership_level: Any, cabin_class: Any) -> Any:
        """Return how many bags are free."""
        return _ALLOWANCE[membership_level][self._cabin(cabin_class)]

    def calculate_baggage_fee(
        self, membership_level: Any, cabin_class: Any, baggage_count: Any
    ) -> Any:
        """Return the fee for all bags over the allowance."""
        free = self.get_baggage_allowance(membership_level, cabin_class)
        return max(0, baggage_count - free) * BAG_FEE

    def calculate_price_difference(self, flight: Any, old_cabin: Any, new_cabin: Any) -> Any:
        """Return what another cabin costs more."""
        return self._price(flight, new_cabin) - self._price(flight, old_cabin)

    def update_balance(self, user: Any, payment_method: Any, amount: Any) -> Any:
        """Add to a balance of the account given."""
        if payment_method not in _PURSES:
            return self.texts["bad_payment"]
        if user[_PURSES[payment_method]] + amount < 0:
            return self.texts["poor"].format(method=payment_method)
        user[_PURSES[payment_method]] += amount
        return self.texts["balance_updated"]

    def process_refund(self, user: Any, amount: Any) -> Any:
        """Add to the cash of the account given."""
        user["cash_balance"] += amount
        return self.texts["refunded"].format(name=user["user_name"], amount=amount)

    def _flight(self, flight_no: Any) -> Any:
        for flight in self.flights:
            if flight["flight_no"] == flight_no:
                return flight
        return None

    def _flies(self, flight_no: Any, route: Mapping[str, Any]) -> bool:
        """Return whether a flight of this number goes the way of a reservation or a flight."""
        return any(
            flight["flight_no"] == flight_no
            and flight["origin"] == route.get("origin")
            and flight["destination"] == route.get("destination")
            for flight in self.flights
        )

    def _place(self, user_id: Any, reservation_id: Any) -> int | None:
        for place, entry in enumerate(self.reservations):
            if entry["reservation_id"] == reservation_id:
                return place if entry["user_id"] == user_id else None
        return None

    def _cabin(self, cabin: Any) -> int:
        """Return 0 for economy and 1 for business."""
        if cabin == self.texts["economy"]:
            return 0
        if cabin == self.texts["business"]:
            return 1
        raise ValueError(self.texts["unknown_cabin"].format(cabin=cabin))

    def _price(self, flight: Mapping[str, Any], cabin: Any) -> Any:
        return flight[("economy_price", "business_price")[self._cabin(cabin)]]

    def _pay(self, user_id: Any, method: Any, amount: Any) -> str | None:
        """Take the amount from a balance; return why not where that cannot be."""
        if method not in _PURSES:
            return self.texts["bad_payment"]
        if self.users[user_id][_PURSES[method]] < amount:
            return self.texts["poor"].format(method=method)
        self._credit(user_id, method, -amount)
        return None

    def _credit(self, user_id: Any, method: str, amount: Any) -> None:
        account = self.users[user_id]
        purse = _PURSES[method]
        self.users = {**self.users, user_id: {**account, purse: account[purse] + amount}}

    def _change(self, place: int, key: str, value: Any) -> None:
        changed = list(self.reservations)
        changed[place] = {**changed[place], key: value}
        self.reservations = changed

    def _change_cabin(
        self, place: int, held: Mapping[str, Any], new_cabin: Any, method: Any
    ) -> str:
        """Change the cabin, paid by its price on the flight that was held before."""
        entry = self.reservations[place]
        amount = self.calculate_price_difference(held, entry["cabin"], new_cabin)
        self._change(place, "cabin", new_cabin)
        user_id = entry["user_id"]
        if amount > 0:
            if method in _PURSES and self._pay(user_id, method, amount):
                return self.texts["cabin_unpaid"].format(amount=amount)
            return self.texts["cabin_paid"].format(amount=amount)
        if amount < 0:
            if method in _PURSES:
                self._credit(user_id, method, -amount)
            return self.texts["cabin_refunded"].format(amount=-amount)
        return self.texts["cabin_changed"]

    def _add_bags(self, place: int, count: Any, method: Any) -> list[str]:
        entry = self.reservations[place]
        bags = entry["baggage"] + count
        level = self.users[entry["user_id"]]["membership_level"]
        fee = self.calculate_baggage_fee(level, entry["cabin"], bags)
        self._change(place, "baggage", bags)
        if not fee:
            return []
        if method in _PURSES and self._pay(entry["user_id"], method, fee):
            return [self.texts["baggage_unpaid"].format(amount=fee)]
        return [self.texts["baggage_paid"].format(amount=fee)]

"""A platform for ordering food, with accounts, merchants and orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from agentenvs.acebench.worlds.base import BaseApi, failed, succeeded

__all__ = ["FoodPlatform"]

_FUNCTIONS = BaseApi.functions["en"] | {
    "login_food_platform",
    "view_logged_in_users",
    "check_balance",
    "add_food_delivery_order",
    "get_products",
    "view_orders",
    "search_orders",
}


class FoodPlatform(BaseApi):
    """Orders are paid from the balance of the account, to which its owner must be logged in.

    Login needs Wi-Fi, not device login. An order that takes the whole balance is refused in
    Chinese and goes through in English. A search for orders raises in Chinese where the first
    merchants' names do not hold the keyword; in English products are looked at, too.
    """

    functions = MappingProxyType({"en": _FUNCTIONS, "zh": _FUNCTIONS})
    scored: ClassVar[tuple[str, ...]] = ("users", "logged_in_users", "orders")

    def load(self, state: Mapping[str, Any]) -> None:
        """Take the initial values."""
        self.users: Mapping[Any, Any] = state["users"]
        self.merchant_list: Mapping[Any, Any] = state["merchant_list"]
        self.logged_in_users: Sequence[Any] = state["logged_in_users"]
        self.orders: Sequence[Any] = state["orders"]

    def login_food_platform(self, username: Any, password: Any) -> Any:
        """Log an account in."""
        if not self.wifi:
            return failed(self.texts["food_no_wifi"])
        if username not in self.users:
            return failed(self.texts["no_user"].format(name=username))
        if self.users[username]["password"] != password:
            return failed(self.texts["wrong_password"])
        if username in self.logged_in_users:
            return failed(self.texts["food_again"].format(name=username))
        self.logged_in_users = [*self.logged_in_users, username]
        return succeeded(self.texts["food_login"].format(name=username))

    def view_logged_in_users(self) -> Any:
        """Return the accounts that are logged in."""
        if not self.logged_in_users:
            return failed(self.texts["nobody"])
        return {"status": True, "logged_in_users": list(self.logged_in_users)}

    def check_balance(self, user_name: Any) -> Any:
        """Return the balance of an account."""
        if user_name not in self.users:
            return failed(self.texts["no_user"].format(name=user_name))
        return self.users[user_name]["balance"]

    def get_products(self, merchant_name: Any) -> Any:
        """Return a merchant's menu."""
        if merchant_name not in self.merchant_list:
            return failed(self.texts["no_merchant"].format(merchant=merchant_name))
        return [dict(entry) for entry in self.merchant_list[merchant_name]["menu"]]

    def add_food_delivery_order(self, username: Any, merchant_name: Any, items: Any) -> Any:
        """Order from a merchant, paid at once."""
        if username not in self.logged_in_users:
            return failed(self.texts["not_logged_in"].format(name=username))
        if merchant_name not in self.merchant_list:
            return failed(self.texts["no_merchant"].format(merchant=merchant_name))
        prices = {
            entry["product"]: entry["price"] for entry in self.merchant_list[merchant_name]["menu"]
        }
        bought = []
        total = 0.0
        for item in items:
            product = item.get("product")
            quantity = item.get("quantity", 1)
            if product not in prices:
                text = self.texts["no_product"]
                return failed(text.format(product=product, merchant=merchant_name))
            if not isinstance(quantity, int) or quantity <= 0:
                text = self.texts["bad_quantity"]
                return failed(text.format(quantity=quantity, product=product))
            total += prices[product] * quantity
            bought.append(
                {"product": product, "quantity": quantity, "price_per_unit": prices[product]}
            )
        account = self.users[username]
        if total > account["balance"] or (self.lang == "zh" and total == account["balance"]):
            return failed(self.texts["too_little"])
        self.users = {
            **self.users,
            username: {**account, "balance": account["balance"] - total},
        }
        order = {
            "user_name": username,
            "merchant_name": merchant_name,
            "items": bought,
            "total_price": total,
        }
        self.orders = [*self.orders, order]
        return succeeded(self.texts["ordered"].format(merchant=merchant_name, total=total))

    def view_orders(self, user_name: Any) -> Any:
        """Return the orders of an account."""
        found = [dict(order) for order in self.orders if order["user_name"] == user_name]
        if not found:
            return failed(self.texts["no_orders"])
        return {"status": True, "orders": found}

    def search_orders(self, keyword: Any) -> Any:
        """Return the orders that mention a keyword."""
        wanted = keyword.lower()
        found = [dict(order) for order in self.orders if self._mentions(order, wanted)]
        if not found:
            return failed(self.texts["no_order_found"])
        return {"status": True, "orders": found}

    def _mentions(self, order: Mapping[str, Any], wanted: str) -> bool:
        if wanted in order["merchant_name"].lower():
            return True
        if self.lang == "zh":
            return any(wanted in item.lower() for item in order["items"])
        return any(wanted in item["product"].lower() for item in order["items"])

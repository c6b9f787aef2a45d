"""What the services say, in English and in Chinese: one template a message.

The wording follows the original wherever a recording shows it. Never seen in a recording, and
so worded by us in the same manner, are:

- in both languages: no_person, view_no_login, none_between, times_no_login, inbox_empty,
  add_reminder_no_login, no_reminders, no_title, delete_reminder_no_login, no_reminder, no_user,
  wrong_password, bad_account, no_transfer, no_reservations, which_reservation, unknown_cabin,
  cabin_changed, cabin_unpaid, baggage_unpaid, late_refund, balance_updated, refunded;
- in English alone: send_no_wifi, reminder_deleted, nobody, no_merchant, bad_quantity, no_orders,
  no_order_found, unknown_flight, not_yours, cabin_paid, nothing_to_pay;
- in Chinese alone: send_no_login, inbox_full, latest_no_login, earliest_no_login,
  reminders_full, reminder_no_login, reminder_marked, mark_no_login, search_no_login,
  no_reminder_found, too_little, free_refund.

Nor is what the Chinese `search_reminders` raises, nor any result of `get_user_details`,
`view_all_reminders`, and of the lists of orders and of people logged in where they hold some.
"""

# ruff: noqa: RUF001 - Chinese punctuation is meant

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["TEXTS", "Texts"]

Texts = Mapping[str, str]

_EN = {
    "wifi_on": "Wi-Fi has been turned on",
    "device_login": "Device has been logged in",
    "sent": "Message successfully sent to {name}.",
    "send_no_login": "Device not logged in, unable to send message",
    "send_no_wifi": "Wi-Fi is turned off, messages cannot be sent at this time",
    "inbox_full": "Inbox capacity is full. You need to ask the user which message to delete.",
    "no_person": "User {name} does not exist",
    "view_no_login": "Device not logged in, unable to view messages",
    "none_between": "No messages found between these users",
    "no_keyword": "No messages found containing the keyword",
    "deleted": "Message ID {id} has been successfully deleted.",
    "delete_no_login": "Device not logged in, unable to delete message",
    "no_message": "Message ID does not exist",
    "latest": "The latest message ID is {id}",
    "latest_no_login": "Device not logged in, unable to retrieve the latest sent message ID.",
    "earliest": "The earliest message ID is {id}",
    "earliest_no_login": "Device not logged in, unable to retrieve the earliest sent message ID.",
    "times_no_login": "Device not logged in, unable to retrieve the times of all messages.",
    "inbox_empty": "The inbox is empty",
    "reminder_added": "Reminder '{title}' was successfully added.",
    "reminders_full": "Reminder capacity is full. Unable to add a new reminder.",
    "add_reminder_no_login": "Device not logged in, unable to add a new reminder",
    "reminder_no_login": "The device is not logged in, so you cannot view notifications",
    "no_reminders": "There are no reminders",
    "no_title": "No reminder found with the title '{title}'",
    "reminder_deleted": "Reminder ID {id} has been successfully deleted.",
    "delete_reminder_no_login": "Device not logged in, unable to delete the reminder",
    "no_reminder": "Reminder ID does not exist",
    "food_login": "User {name} has successfully logged in!",
    "food_no_wifi": "Wi-Fi is not enabled, unable to login",
    "food_again": "{name} is already logged in",
    "no_user": "User {name} does not exist",
    "wrong_password": "Incorrect password",
    "nobody": "No users are currently logged in to the food platform",
    "not_logged_in": "User {name} is not logged in to the food platform",
    "no_merchant": "Merchant '{merchant}' does not exist",
    "no_product": "Product {product} does not exist in {merchant}'s menu",
    "bad_quantity": "Invalid quantity {quantity} for product {product}",
    "too_little": "Insufficient balance to place the order",
    "ordered": (
        "Food delivery order successfully placed with {merchant}. Total amount: {total} yuan"
    ),
    "no_orders": "The user has no order records",
    "no_order_found": "No matching orders found",
    "economy": "Economy Class",
    "business": "Business Class",
    "airline": "The airline has canceled the flight.",
    "bad_account": "Incorrect user ID or password",
    "no_flights": "There are no direct flights that meet the criteria.",
    "no_transfer": "There are no transfer flights that meet the criteria.",
    "no_reservations": "No reservation found.",
    "which_reservation": "Please provide a reservation ID or a user ID.",
    "unknown_flight": "Flight information is invalid.",
    "unknown_cabin": "Invalid cabin class: {cabin}",
    "bad_payment": "Invalid payment method",
    "poor": "Your {method} balance is insufficient. Please consider using another payment method.",
    "booked": (
        "Booking successful. Reservation ID: {id}. "
        "Total cost: {total} yuan (including baggage fees)."
    ),
    "not_yours": "Reservation not found or user ID does not match.",
    "flight_changed": "Flight number has been changed.",
    "flight_refused": (
        "Flight change failed: Invalid new flight number or destination does not match."
    ),
    "cabin_paid": "Cabin change successful. Price difference paid: {amount}.",
    "cabin_refunded": "Cabin change successful. Price difference refunded: {amount}.",
    "cabin_changed": "Cabin change successful.",
    "cabin_unpaid": "Insufficient balance to pay the price difference: {amount}.",
    "baggage_paid": "Baggage has been added. Additional fee to be paid: {amount}.",
    "baggage_unpaid": "Insufficient balance to pay the baggage fee: {amount}.",
    "nothing_to_pay": "Modification completed, no additional fee required.",
    "airline_refund": (
        "The flight has been canceled. Your reservation will be canceled free of charge, "
        "and {amount} yuan has been refunded."
    ),
    "free_refund": (
        "More than 24 hours before departure. Free cancellation successful, "
        "{amount} yuan has been refunded."
    ),
    "late_refund": (
        "Less than 24 hours before departure. A cancellation fee of {fee} yuan was charged, "
        "and {amount} yuan has been refunded."
    ),
    "balance_updated": "Balance updated successfully.",
    "refunded": "{amount} yuan has been refunded to {name}.",
}

_ZH = {
    "wifi_on": "wifi已经打开",
    "device_login": "设备已经登录",
    "sent": "短信成功发送给{name}。",
    "send_no_login": "device未登录，无法发送短信",
    "send_no_wifi": "wifi关闭，此时不能发送信息",
    "inbox_full": "内存容量已经满了，需要询问用户删除哪一条短信。",
    "no_person": "用户 {name} 不存在",
    "view_no_login": "device未登录，无法查看短信",
    "none_between": "没有找到这两个用户之间的短信",
    "no_keyword": "没有找到包含关键词的短信",
    "deleted": "短信ID {id} 已成功删除。",
    "delete_no_login": "device未登录，无法删除短信",
    "no_message": "短信ID不存在",
    "latest": "最新的短信ID是 {id}",
    "latest_no_login": "device未登录，无法获取最新的短信ID",
    "earliest": "最早的短信ID是 {id}",
    "earliest_no_login": "device未登录，无法获取最早的短信ID",
    "times_no_login": "device未登录，无法获取所有短信的时间",
    "inbox_empty": "短信记录为空",
    "reminder_added": "提醒 '{title}' 已成功添加",
    "reminders_full": "提醒容量已满，无法添加新的提醒",
    "add_reminder_no_login": "device未登录，无法添加新的提醒",
    "reminder_no_login": "device未登录，无法查看提醒",
    "no_reminders": "没有任何提醒",
    "no_title": "没有找到标题为 '{title}' 的提醒",
    "reminder_deleted": "提醒ID {id} 已成功删除",
    "delete_reminder_no_login": "device未登录，无法删除提醒",
    "no_reminder": "提醒ID不存在",
    "reminder_marked": "提醒ID {id} 已标记为已通知",
    "mark_no_login": "device未登录，无法标记提醒",
    "search_no_login": "device未登录，无法搜索提醒",
    "no_reminder_found": "没有找到包含该关键词的提醒",
    "food_login": "用户{name}登陆成功！",
    "food_no_wifi": "wifi未打开，无法登录",
    "food_again": "{name} 已经登录",
    "no_user": "用户 {name} 不存在",
    "wrong_password": "密码错误",
    "nobody": "当前没有登录food platform",
    "not_logged_in": "用户 {name} 未登录food platform",
    "no_merchant": "商家 '{merchant}' 不存在",
    "no_product": "商品 {product} 不存在于 {merchant} 的菜单中",
    "bad_quantity": "无效的数量 {quantity} 对于商品 {product}",
    "too_little": "余额不足，无法下单",
    "ordered": "外卖订单成功下单给 {merchant}，总金额为 {total} 元",
    "no_orders": "用户没有订单记录",
    "no_order_found": "没有找到匹配的订单",
    "economy": "经济舱",
    "business": "商务舱",
    "airline": "航空公司取消航班",
    "bad_account": "用户ID或密码错误",
    "no_flights": "没有符合条件的直达航班",
    "no_transfer": "没有符合条件的中转航班",
    "no_reservations": "未找到预订。",
    "which_reservation": "请提供预订ID或用户ID。",
    "unknown_flight": "航班信息无效。",
    "unknown_cabin": "舱位无效：{cabin}",
    "bad_payment": "支付方式无效",
    "poor": "{method}余额不足，请考虑换一种支付方式",
    "booked": "预订成功，预订号：{id}，总费用：{total}元（包含行李费用）。",
    "not_yours": "预订未找到或用户ID不匹配。",
    "flight_changed": "航班号已更改。",
    "flight_refused": "航班更改失败：新的航班号无效或目的地不匹配。",
    "cabin_paid": "舱位更改成功。已支付差价: {amount}。",
    "cabin_refunded": "舱位更改成功。已退款差价: {amount}。",
    "cabin_changed": "舱位更改成功。",
    "cabin_unpaid": "余额不足，无法支付差价: {amount}。",
    "baggage_paid": "行李已增加。需支付额外费用: {amount}。",
    "baggage_unpaid": "余额不足，无法支付行李费用: {amount}。",
    "nothing_to_pay": "修改完成，无需额外费用。",
    "airline_refund": "航班已取消，您的预订将被免费取消，已退款{amount}元。",
    "free_refund": "距离出发时间超过24小时，免费取消成功，已退款{amount}元。",
    "late_refund": "距离出发时间不足24小时，收取取消费用{fee}元，已退款{amount}元。",
    "balance_updated": "余额更新成功。",
    "refunded": "已向{name}退款{amount}元。",
}

TEXTS: Mapping[str, Texts] = MappingProxyType(
    {"en": MappingProxyType(_EN), "zh": MappingProxyType(_ZH)}
)

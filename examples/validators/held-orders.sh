#!/bin/sh
# A validator: refuses orders that stand on the list of held ones. One JSON object in, one out.
order=$(sed -n 's/.*"order_id":"\([^"]*\)".*/\1/p')
# Without an answer nothing passes, so what cannot be understood needs none.
[ -n "$order" ] || exit 1
if grep -qxF -- "$order" "$(dirname "$0")/held-orders.txt"
then printf '{"verdict":"reject","version":"1.0.0","reason":"ORDER_HELD","message":"order %s is held"}\n' "$order"
else printf '{"verdict":"pass","version":"1.0.0"}\n'
fi

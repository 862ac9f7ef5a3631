# SPDX-License-Identifier: Apache-2.0
"""From results files to figures and a page: records -> sections -> figures and findings -> page."""

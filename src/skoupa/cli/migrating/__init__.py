"""`skoupa migrate`: from Kyverno's cleanup controller to Skoupa, and back."""

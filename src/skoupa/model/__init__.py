"""model/: the values that every mechanism answers with: Claim, Hold, Verdict, and the reasons they carry."""

"""What a site shows before it gives notes out: a second look at every note, and a signed bundle of what a run did."""
